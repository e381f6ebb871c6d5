// Light, dark, or following the system. A classic script in the head, so that the first paint has the right colors.

(() => {
  const KEY = 'inferno.theme';
  const THEMES = ['system', 'light', 'dark'];

  const saved = () => {
    try {
      const theme = localStorage.getItem(KEY);
      return THEMES.includes(theme) ? theme : 'system';
    } catch {
      return 'system'; // Storage is not available.
    }
  };

  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
  };

  apply(saved());

  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => {
      const theme = document.documentElement.dataset.theme;
      button.title = `Theme: ${theme}`;
      button.setAttribute('aria-label', button.title);
    };
    button.addEventListener('click', () => {
      const current = THEMES.indexOf(document.documentElement.dataset.theme);
      const next = THEMES[(current + 1) % THEMES.length];
      apply(next);
      show();
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // It then applies until the page is closed.
      }
    });
    show();
  });
})();
