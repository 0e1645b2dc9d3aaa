// Runs before anything else of the page is there. A file of its own, for the page allows no inline script; its words in
// capitals are put in when the dashboard is built.
(function () {
  // Before the first paint, so that a dark page never flashes white.
  try {
    var kept = JSON.parse(localStorage.getItem("foliot.prefs") || "{}");
    if (kept.theme === "light" || kept.theme === "dark") document.documentElement.dataset.theme = kept.theme;
  } catch (_) {
    // Storage may be closed to us; then the system's theme holds.
  }

  // What the page will ask first is on its way while its scripts are read.
  var early = (window.foliotEarly = {});
  function ask(path) {
    early[path] = fetch(path, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    // Whoever needs it hears of it, or asks again.
    early[path].catch(function () {});
  }
  ask("/api/session");
  var list = LISTS[location.pathname];
  if (list) {
    var asked = new URLSearchParams();
    var filter = new URLSearchParams(location.search).get("q");
    if (filter) asked.set("q", filter);
    asked.set("limit", FIRST);
    ask(list + "?" + asked);
  }

  // So is the code of the page itself, which the rest of the code would find out about last.
  var page = PAGES.find(function (one) {
    return new RegExp(one[0]).test(location.pathname);
  });
  (page ? page[1] : []).forEach(function (file) {
    var link = document.createElement("link");
    link.rel = "modulepreload";
    link.crossOrigin = "";
    link.href = file;
    document.head.appendChild(link);
  });
})();
