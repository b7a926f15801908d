/* Pages for users come before pages for developers, where the same words are found in both. */
const PLACES = [
  [/^(faq|install|getting-started|coming-from)$/, 10],
  [/^guide\/(?!index$)/, 14],
  [/^(command-line|gallery\/.*\/plot_)/, 3],
  [/^(design|how-to)\/|^(benchmarks|release-notes|reproduction|search|genindex)$/, -10],
  [/index$|^citing$|^api\//, -6],
];

const Scorer = {
  score: ([page, , , , score]) => score + (PLACES.find(([pattern]) => pattern.test(page)) ?? [null, 0])[1],

  // What Sphinx takes where nothing is said.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
