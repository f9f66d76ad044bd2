/** What a report can do beyond being read: plots, downloads, and hiding what is the same in all cases. */

import './report.css';
import type { ReportDocument } from './document';
import { follow } from './live';
import { element } from './stage';
import { StudyPlots } from './study';
import texts from './texts.json';

/** The document of a page: JSON, compressed, as base64. */
async function unpack(packed: string): Promise<string> {
  const binary = atob(packed.trim());
  // `Uint8Array.from` takes thirty times as long.
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

function download(button: string, name: string, type: string, text: () => string): void {
  document.getElementById(button)?.addEventListener('click', () => {
    const link = element('a');
    link.href = URL.createObjectURL(new Blob([text()], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

/** A box above the configuration of each study that leaves only the rows that differ. */
function differences(article: HTMLElement): void {
  const section = article.querySelector('.configuration');
  const heading = section?.querySelector('h2');
  if (!section || !heading || !section.querySelector('.differs')) return;
  const box = element('input');
  box.type = 'checkbox';
  box.addEventListener('change', () => section.classList.toggle('differing-only', box.checked));
  heading.after(element('p', 'choices', element('label', '', box, ` ${texts.differing_only}`)));
}

/** Makes a long table of its text: a page with thousands of rows that nobody asked for opens in half the time. */
function unfold(details: HTMLDetailsElement): void {
  const folded = details.querySelector(':scope > noscript');
  if (folded) folded.outerHTML = folded.textContent ?? '';
}

async function begin(): Promise<void> {
  const packed = document.getElementById('document')?.textContent ?? '';
  const text = await unpack(packed);
  const report = JSON.parse(text) as ReportDocument;
  const name = report.studies[0]?.study.id ?? 'stampede';
  download('json', `${name}.json`, 'application/json', () => text);
  download('csv', `${name}.csv`, 'text/csv', () => report.csv);
  for (const buttons of document.querySelectorAll<HTMLElement>('.buttons')) buttons.hidden = false;
  document.querySelectorAll<HTMLElement>('article.study').forEach((article, index) => {
    const reported = report.studies[index];
    if (reported) new StudyPlots(article, reported);
    differences(article);
  });
  for (const part of document.querySelectorAll<HTMLElement>('[data-events]')) follow(part);
  // What is folded on a screen is read on paper.
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) {
      unfold(details);
      details.open = true;
    }
  });
  document.documentElement.dataset['ready'] = 'true';
}

// It does not bubble.
document.addEventListener('toggle', ({ target }) => target instanceof HTMLDetailsElement && target.open && unfold(target), true);

void begin();
