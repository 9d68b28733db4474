// Excerpts of the results of the search, from search_texts.js instead of the pages themselves, which
// a browser does not fetch from file://. An excerpt of a page links to the section that it is from.
// The scripts of the search are loaded after this one.
document.addEventListener("DOMContentLoaded", () => {
  window.fetch = (address) => Promise.resolve({ text: () => address });

  Search.makeSearchSummary = (address, keywords, anchor) => {
    const root = document.documentElement.dataset.content_root;
    const suffix = DOCUMENTATION_OPTIONS.FILE_SUFFIX;
    const sections = SEARCH_TEXTS[address.slice(root.length, -suffix.length)] ?? [];
    const words = [...keywords].map((word) => word.toLowerCase());
    const count = ([, heading, text]) =>
      words.filter((word) => `${heading} ${text}`.toLowerCase().includes(word)).length;
    const own = sections.find(([id]) => anchor === `#${id}`);
    // The first of the sections that contain most of the words.
    const best = own ?? sections.reduce((a, b) => (count(b) > count(a) ? b : a), sections[0]);
    if (!best) return null;
    const [id, heading, text] = best;
    const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
    const wanted = Math.max(Math.min(...places, text.length) - 60, 0);
    const begin = places.length && wanted ? text.indexOf(" ", wanted) + 1 : 0;
    const excerpt = document.createElement("p");
    excerpt.className = "context";
    if (!own && best !== sections[0]) {
      const link = excerpt.appendChild(document.createElement("a"));
      link.href = `${address}#${id}`;
      link.textContent = heading;
      excerpt.append(": ");
    }
    const end = text.length > begin + 240 ? text.lastIndexOf(" ", begin + 240) : text.length;
    excerpt.append((begin ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : ""));
    return excerpt;
  };
});
