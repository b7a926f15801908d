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

  // Words that are cut off: an element that hides what does not fit, and has more than fits.
  for (const element of document.querySelectorAll(".bd-article *, .bd-sidebar-secondary *, .bd-header *")) {
    const style = getComputedStyle(element);
    const hides = style.overflowX === "hidden" || style.overflowX === "clip" || style.textOverflow === "ellipsis";
    if (hides && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 2 && visible(element)) {
      found.push(`cut off: ${name(element)}`);
    }
  }

  // Contrast, as WCAG defines it: 4.5, or 3 for large words.
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const over = (front, back) => {
    const alpha = front[3] ?? 1;
    return [0, 1, 2].map((k) => alpha * front[k] + (1 - alpha) * back[k]);
  };
  const background = (element) => {
    if (element === null) return parts(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    const colour = parts(getComputedStyle(element).backgroundColor);
    return (colour[3] ?? 1) === 1 ? colour : over(colour, background(element.parentElement));
  };
  const judged = new Set();
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || element.closest("svg, script, style, noscript")) continue;
    const style = getComputedStyle(element);
    const key = [style.color, style.fontSize, style.fontWeight, element.tagName, element.className, element.parentElement.className].join();
    if (judged.has(key) || !visible(element)) continue;
    judged.add(key);
    const back = background(element);
    const levels = [luminance(over(parts(style.color), back)), luminance(back)].sort((a, b) => b - a);
    const contrast = (levels[0] + 0.05) / (levels[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (large ? 3 : 4.5)) found.push(`contrast ${contrast.toFixed(1)}: ${name(element)}`);
  }
  return found;
})();
