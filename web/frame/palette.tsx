/** Search for pages and ids, and the keys that lead to pages. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { PAGES } from '../pages/index.ts';
import type { Page } from '../pages/page.ts';
import { Icon } from '../parts/icon.tsx';
import { useSession } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';

type Hit = { label: string; path: string };

/** Within this time after `g` comes the key of a page. */
const SECOND_KEY_MS = 1_500;

export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [isHelp, setHelp] = useState(false);
  const { missingForPage } = useSession();
  const navigate = useNavigate();
  const pages = PAGES.filter((page) => page.menu && missingForPage(page).length === 0);
  const open = (help: boolean): void => {
    setText('');
    setHelp(help);
    dialog.current?.showModal();
  };
  useKeys(pages, open);
  const hits = hitsOf(text, pages);
  const go = ({ path }: Hit): void => {
    dialog.current?.close();
    void navigate({ to: path });
  };
  return (
    <>
      <button type="button" className="find" onClick={() => open(false)}>
        <Icon name="search" />
        Find a page or an id<kbd>Ctrl K</kbd>
      </button>
      <dialog ref={dialog} className="palette" aria-label={isHelp ? 'Keys' : 'Find a page or an id'}>
        {isHelp ? (
          <Keys pages={pages} onClose={() => dialog.current?.close()} />
        ) : (
          <form
            className="body"
            onSubmit={(event) => {
              event.preventDefault();
              if (hits[0]) go(hits[0]);
            }}
          >
            <input
              className="input"
              aria-label="Page or id"
              placeholder="imports, imp_…, gdp_…"
              value={text}
              onChange={({ target }) => setText(target.value)}
              autoFocus
            />
            <ul>
              {hits.map((hit) => (
                <li key={hit.path}>
                  <button type="button" className="btn plain" onClick={() => go(hit)}>
                    {hit.label}
                  </button>
                </li>
              ))}
            </ul>
            {hits.length === 0 && <p className="second">No page has this name, and no id begins so.</p>}
          </form>
        )}
      </dialog>
    </>
  );
}

/** Pages whose names hold the text, and the page of an id. */
function hitsOf(text: string, pages: readonly Page[]): Hit[] {
  const asked = text.trim().toLowerCase();
  const ofId = PAGES.filter(({ idPrefix }) => idPrefix !== undefined && asked.startsWith(idPrefix)).map(
    ({ title, path }) => ({ label: `${title} ${text.trim()}`, path: path.replace(/\$\w+/, text.trim()) }),
  );
  const named = pages
    .filter(({ title, question }) => `${title} ${question}`.toLowerCase().includes(asked))
    .map(({ title, question, path }) => ({ label: `${title}: ${question}`, path }));
  return [...ofId, ...named];
}

function Keys({ pages, onClose }: { pages: readonly Page[]; onClose: () => void }) {
  return (
    <div className="body">
      <h2>Keys</h2>
      <table>
        <tbody>
          <KeyRow keys={['Ctrl K']} does="find a page or an id" />
          <KeyRow keys={['/']} does="go to the filter of a list" />
          <KeyRow keys={['?']} does="this list" />
          {pages.flatMap(({ key, title }) =>
            key === undefined ? [] : [<KeyRow key={key} keys={['g', key]} does={title} />],
          )}
        </tbody>
      </table>
      <p className="small second">Single keys can be turned off on the page “You”.</p>
      <button type="button" className="btn" onClick={onClose} autoFocus>
        Close
      </button>
    </div>
  );
}

function KeyRow({ keys, does }: { keys: readonly string[]; does: string }) {
  return (
    <tr>
      <th scope="row">
        {keys.map((each) => (
          <kbd key={each}>{each}</kbd>
        ))}
      </th>
      <td>{does}</td>
    </tr>
  );
}

function useKeys(pages: readonly Page[], open: (help: boolean) => void): void {
  const { hasSingleKeys } = useSettings();
  const navigate = useNavigate();
  const since = useRef(0);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault();
        open(false);
        return;
      }
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, dialog, [role=grid]');
      if (ctrlKey || metaKey || altKey || !hasSingleKeys || isTyping) return;
      const isSecond = performance.now() - since.current < SECOND_KEY_MS;
      since.current = key === 'g' ? performance.now() : 0;
      const page = isSecond ? pages.find((each) => each.key === key) : undefined;
      if (page) void navigate({ to: page.path });
      else if (key === '?') open(true);
      else if (key === '/') {
        const filter = document.querySelector<HTMLElement>('[data-filter]');
        if (filter) {
          event.preventDefault();
          filter.focus();
        }
      }
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  });
}
