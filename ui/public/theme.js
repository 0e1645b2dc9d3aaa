// Before the first paint, so that a dark page never flashes white. A file of its own, for the page allows no inline script.
(function () {
  try {
    var kept = JSON.parse(localStorage.getItem("foliot.prefs") || "{}");
    if (kept.theme === "light" || kept.theme === "dark") document.documentElement.dataset.theme = kept.theme;
  } catch (_) {
    // Storage may be closed to us; then the system's theme holds.
  }
})();
