/* Pages for users come before pages for developers, where the same words are found in both. */
const PLACES = [
  [/^(faq|install|getting-started|coming-from)$/, 10],
  [/^guide\/(?!index$)/, 14],
  [/^(command-line$|gallery\/.*\/plot_)/, 3],
  [/^(design|how-to)\/|^(benchmarks|release-notes|reproduction|search|genindex)$/, -10],
  [/index$|^citing$|^api\//, -6],
];
const NAME_OF_THE_API = 30;

var Scorer = { // a var, as Sphinx declares it, too
  score: ([page, title, , , score]) => {
    const exact = page.startsWith("api/") && title === new URLSearchParams(location.search).get("q");
    return score + (exact ? NAME_OF_THE_API : (PLACES.find(([pattern]) => pattern.test(page)) ?? [null, 0])[1]);
  },

  // As Sphinx has it, but for objects of the API: their pages are found as well.
  objNameMatch: 8,
  objPartialMatch: 4,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
