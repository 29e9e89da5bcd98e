/**
 * Script of a documentation page. It adds a search over the sections, and buttons that copy a sample with the address
 * of the service.
 */
export const SCRIPT = `
document.documentElement.classList.add('scripted');
const sections = [...document.querySelectorAll('section[id]')].map((section) => ({ section, link: document.querySelector('nav a[href$="#' + section.id + '"]'), text: section.textContent.toLowerCase() }));
const search = document.querySelector('nav input');
const groups = [...document.querySelectorAll('main > h2, main > .group')];
if (search) {
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const { section, link, text } of sections) {
      const isFound = words.every((word) => text.includes(word));
      section.hidden = !isFound;
      if (link) link.parentElement.hidden = !isFound;
    }
    for (const group of groups) group.hidden = words.length > 0 && !group.querySelector('section:not([hidden])') && !group.matches('h2');
  });
  addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === 'Escape' && document.activeElement === search) { search.value = ''; search.dispatchEvent(new Event('input')); search.blur(); }
  });
  addEventListener('hashchange', () => { search.value = ''; search.dispatchEvent(new Event('input')); document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); });
}
for (const pre of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = pre.querySelector('code').textContent.replaceAll('$DIVISOR', location.protocol === 'file:' ? '$DIVISOR' : location.origin);
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  (pre.closest('figure') ?? pre).append(button);
}
`;
