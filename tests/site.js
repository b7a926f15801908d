// What is wrong with the page that is open, at its present width and theme: a list of sentences.
(() => {
  const found = [];
  const name = (element) =>
    `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${(element.textContent ?? "").trim().slice(0, 40)}`;
  const visible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide > 1) found.push(`the page is ${wide} pixels wider than the window`);

  // What sticks out of the window, unless it is in something that scrolls.
  const scrolls = (element) =>
    element !== null && (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement?.closest(".bd-article *") ?? null));
  const outside = [...document.querySelectorAll(".bd-article *, .bd-header *")].find(
    (element) => element.getBoundingClientRect().right > window.innerWidth + 1 && visible(element) && !scrolls(element),
  );
  if (outside) found.push(`sticks out of the window: ${name(outside)}`);

  for (const image of document.images) {
    if (image.complete && image.naturalWidth === 0) found.push(`missing image ${image.getAttribute("src")}`);
  }

  // Words that are cut off: an element that hides what does not fit, and has more than fits. (Widths are asked for
  // first, as styles cost more.)
  const overfull = (element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 2;
  for (const element of document.querySelectorAll(".bd-article *, .bd-sidebar-secondary *, .bd-header *, .prev-next-area *")) {
    if (!overfull(element)) continue;
    const style = getComputedStyle(element);
    const hides = style.overflowX === "hidden" || style.overflowX === "clip" || style.textOverflow === "ellipsis";
    if (hides && visible(element)) found.push(`cut off: ${name(element)}`);
  }

  // Code and names that can be scrolled are cut off all the same.
  for (const element of document.querySelectorAll(".bd-article pre, .bd-sidebar-secondary a")) {
    if (overfull(element) && visible(element)) found.push(`cut off: ${name(element)}`);
  }

  // Names of parameters that are broken in the middle.
  const line = document.createRange();
  for (const element of document.querySelectorAll(".bd-article dt > strong")) {
    line.selectNodeContents(element);
    const tops = new Set([...line.getClientRects()].map((part) => Math.round(part.top)));
    if (tops.size > 1 && !/\s/.test(element.textContent.trim()) && visible(element)) found.push(`broken: ${name(element)}`);
  }

  // Contrast, as WCAG defines it: 4.5, or 3 for large words.
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const over = (front, back) => {
    const alpha = front[3] ?? 1;
    return [0, 1, 2].map((k) => alpha * front[k] + (1 - alpha) * back[k]);
  };
  const backgrounds = new Map();
  const background = (element) => {
    if (element === null) return parts(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    if (!backgrounds.has(element)) {
      const colour = parts(getComputedStyle(element).backgroundColor);
      backgrounds.set(element, (colour[3] ?? 1) === 1 ? colour : over(colour, background(element.parentElement)));
    }
    return backgrounds.get(element);
  };
  // Elements of the same tags and classes, all the way up, look the same: one of each is judged.
  const kinds = new Map(), kindOf = new Map();
  const kind = (element) => {
    if (element === null) return 0;
    if (!kindOf.has(element)) {
      const key = `${kind(element.parentElement)} ${element.tagName} ${element.getAttribute("class")} ${element.getAttribute("style")}`;
      if (!kinds.has(key)) kinds.set(key, kinds.size + 1);
      kindOf.set(element, kinds.get(key));
    }
    return kindOf.get(element);
  };
  const judged = new Set();
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || element.closest("svg, script, style, noscript")) continue;
    if (judged.has(kind(element)) || !visible(element)) continue;
    judged.add(kind(element));
    const style = getComputedStyle(element);
    const back = background(element);
    const levels = [luminance(over(parts(style.color), back)), luminance(back)].sort((a, b) => b - a);
    const contrast = (levels[0] + 0.05) / (levels[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (large ? 3 : 4.5)) found.push(`contrast ${contrast.toFixed(1)}: ${name(element)}`);
  }
  return found;
})();
