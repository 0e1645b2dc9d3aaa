// Runs before the other scripts are loaded. A file of its own, for the page's policy allows no inline script; the names in
// capitals are filled in when the dashboard is built (prefetch.ts).
(function () {
  // Before the first paint, so that a dark page never flashes white.
  try {
    var kept = JSON.parse(localStorage.getItem("foliot.prefs") || "{}");
    if (kept.theme === "light" || kept.theme === "dark") document.documentElement.dataset.theme = kept.theme;
  } catch (_) {
    // Storage may be blocked; then the system's theme applies.
  }

  // Sends the page's first requests while its scripts are loaded; api/client.ts takes the answers.
  var prefetched = (window.foliotPrefetched = {});
  function request(path) {
    prefetched[path] = fetch(path, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    // The client handles the failure, or sends the request again.
    prefetched[path].catch(function () {});
  }
  request("/api/session");
  var list = LISTS[location.pathname];
  if (list) {
    var query = new URLSearchParams();
    var search = new URLSearchParams(location.search);
    var filter = search.get("q");
    if (filter) query.set("q", filter);
    var order = search.get("sort") || ORDERS[location.pathname];
    if (order) query.set("sort", order);
    query.set("limit", FIRST);
    request(list + "?" + query);
  }

  // Preloads the chunks of the page itself, which the router would request last.
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
