/** The part of a dashboard's page that shows what is stored of a study while it is measured. */

/** How long to wait where as many pages as may be follow studies already, or the dashboard was ended. */
const AGAIN_AFTER = 30_000;

/** Follows the events that a part of the page names; a report in a file has no such part. */
export function follow(part: HTMLElement): void {
  const address = part.dataset['events'];
  if (!address) return;
  const source = new EventSource(address);
  const title = document.title;
  name(part, title);
  source.addEventListener('trial', (event) => {
    show(part, String(event.data));
    name(part, title);
  });
  source.addEventListener('end', () => {
    source.close();
    location.reload();
  });
  source.addEventListener('error', () => {
    // A connection that broke is opened again by the browser; one that was refused is not.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(part), AGAIN_AFTER);
  });
}

/** How far it is stands in the page's title, so that it is seen in another tab. */
function name(part: HTMLElement, title: string): void {
  const progress = part.querySelector('progress');
  document.title = progress ? `${progress.value}/${progress.max} ${title}` : title;
}

/** Whoever moves about by keys stays where they were. */
function show(part: HTMLElement, content: string): void {
  const label = part.contains(document.activeElement) ? document.activeElement?.getAttribute('aria-label') : null;
  // Escaped by whoever sent it, as all of the page was.
  part.innerHTML = content;
  if (label) part.querySelector<HTMLElement>(`[aria-label="${CSS.escape(label)}"]`)?.focus();
}
