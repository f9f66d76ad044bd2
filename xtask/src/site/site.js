// Search over all pages, without a network: search.js is loaded at the first key.
'use strict';
let SEARCH;
{
  const up = document.currentScript.dataset.up;
  const form = document.querySelector('form[role=search]');
  const input = document.getElementById('search');
  const found = document.getElementById('found');
  form.hidden = false;

  const load = () => new Promise((done) => {
    if (SEARCH) return done();
    const script = document.createElement('script');
    script.src = up + 'search.js';
    script.onload = done;
    document.head.append(script);
  });

  /** Rows that hold every word, those with words in headings first. */
  const rank = (query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const scored = [];
    for (const row of SEARCH) {
      const [, page, , heading, text] = row.map((field) => field.toLowerCase());
      let score = 0;
      for (const word of words) {
        const here = (heading.includes(word) ? 8 : 0) + (page.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
        if (!here) { score = 0; break; }
        score += here;
      }
      if (score) scored.push([score, row]);
    }
    return scored.sort((a, b) => b[0] - a[0]).slice(0, 20).map(([, row]) => row);
  };

  /** Some words of a text around the first that was searched. */
  const excerpt = (text, query) => {
    const at = Math.max(0, text.toLowerCase().indexOf(query.toLowerCase().split(/\s+/)[0]) - 40);
    return (at ? '… ' : '') + text.slice(at, at + 140) + (text.length > at + 140 ? ' …' : '');
  };

  const show = async () => {
    const query = input.value.trim();
    found.hidden = query.length < 2;
    if (found.hidden) return;
    await load();
    const list = document.createElement('ul');
    for (const [page, title, anchor, heading, text] of rank(query)) {
      const link = document.createElement('a');
      link.href = up + page + (anchor ? '#' + anchor : '');
      link.textContent = heading === title ? title : `${title}: ${heading}`;
      const small = document.createElement('small');
      small.textContent = excerpt(text, query);
      link.append(small);
      const item = document.createElement('li');
      item.append(link);
      list.append(item);
    }
    const none = document.createElement('p');
    none.textContent = 'No page holds all of these words.';
    found.replaceChildren(list.children.length ? list : none);
  };

  input.addEventListener('input', show);
  input.addEventListener('focus', show);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    found.querySelector('a')?.click();
  });
  found.addEventListener('click', (event) => { if (event.target.closest('a')) found.hidden = true; });
  document.addEventListener('click', (event) => { if (!event.target.closest('header')) found.hidden = true; });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    } else if (event.key === 'Escape' && !found.hidden) {
      found.hidden = true;
      input.focus();
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !found.hidden) {
      const links = [input, ...found.querySelectorAll('a')];
      const at = links.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      links[Math.min(links.length - 1, Math.max(0, at + (event.key === 'ArrowDown' ? 1 : -1)))].focus();
    }
  });
}
