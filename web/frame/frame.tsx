/** The frame around each page: menu, entity, search, zone and the person. */
import { useMutation } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { MENU, type Page } from '../pages/page.ts';
import { PAGES } from '../pages/index.ts';
import { Icon } from '../parts/icon.tsx';
import { Refused } from '../parts/refusal.tsx';
import { useSecondsLeft } from '../parts/seconds-left.ts';
import { usePage } from '../router.tsx';
import { onWait, type Refusal } from '../session/api.ts';
import { Wave } from '../session/login.tsx';
import { useSession } from '../session/session.tsx';
import { changeSettings, useSettings, zones } from '../session/settings.ts';
import { Palette } from './palette.tsx';

export function Frame() {
  const page = usePage();
  const [isMenuOpen, setMenuOpen] = useState(false);
  useEffect(() => {
    document.title = page ? `${page.title} · Millrace` : 'Millrace';
    setMenuOpen(false);
  }, [page]);
  return (
    <div className="frame">
      <a className="skip" href="#main">
        To the page
      </a>
      <Hatching />
      <Side />
      {isMenuOpen && <MenuSheet onClose={() => setMenuOpen(false)} />}
      <div>
        <Top onMenu={() => setMenuOpen(true)} />
        <main id="main" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  );
}

/** The pattern of what is unknown, for the drawings of all pages. */
function Hatching() {
  return (
    <svg width="0" height="0" className="sr" aria-hidden="true">
      <pattern id="hatching" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" className="hatching-ground" />
        <rect width="3" height="6" className="hatching-line" />
      </pattern>
    </svg>
  );
}

function Side() {
  return (
    <nav className="side" aria-label="Console">
      <div className="brand">
        <Wave />
        Millrace
      </div>
      <EntityPick />
      <Menu />
    </nav>
  );
}

function Menu() {
  const { missingForPage } = useSession();
  const shown = PAGES.filter((page) => page.menu !== undefined && missingForPage(page).length === 0);
  return MENU.map((group) => {
    const pages = shown.filter(({ menu }) => menu!.group === group);
    return pages.length === 0 ? null : (
      <div key={group}>
        {group !== '' && <h2 className="group">{group}</h2>}
        {pages.map((each) => (
          <MenuLink key={each.path} page={each} />
        ))}
      </div>
    );
  });
}

function MenuLink({ page }: { page: Page }) {
  const shown = usePage();
  return (
    <Link to={page.path} activeOptions={{ exact: entryOf(shown) !== page }} activeProps={{ 'aria-current': 'page' }}>
      <Icon name={page.menu!.icon} />
      {page.title}
    </Link>
  );
}

/** Returns the page of the menu that a page belongs to: the one with the longest path that its own begins with. */
function entryOf(page: Page | null): Page | undefined {
  const isWithin = (path: string): boolean => path !== '/' && `${page?.path ?? ''}/`.startsWith(`${path}/`);
  return PAGES.filter(({ menu, path }) => menu !== undefined && isWithin(path)).toSorted(
    (one, other) => other.path.length - one.path.length,
  )[0];
}

function MenuSheet({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="drawer" aria-label="Menu" onClose={onClose}>
      <nav className="side" aria-label="Menu">
        <button type="button" className="btn plain" onClick={onClose} autoFocus>
          <Icon name="close" />
          Close
        </button>
        <EntityPick />
        <Menu />
      </nav>
    </dialog>
  );
}

function EntityPick() {
  const { session, switchTo } = useSession();
  const change = useMutation<void, Refusal, string>({ mutationFn: switchTo });
  if (session.entities.length === 1) return <p className="entity">{session.entity.name}</p>;
  return (
    <>
      <label className="entity">
        <span className="sr">Entity</span>
        <select value={session.entity.identifier} onChange={({ target }) => change.mutate(target.value)}>
          {session.entities.map(({ identifier, name }) => (
            <option key={identifier} value={identifier}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {change.error && <Refused refusal={change.error} />}
    </>
  );
}

function Top({ onMenu }: { onMenu: () => void }) {
  return (
    <header className="top">
      <button type="button" className="btn plain menu" aria-label="Menu" onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <Palette />
      <WaitNote />
      <ZonePick />
      <PersonMenu />
    </header>
  );
}

/** Says that a call waits, as the server asked, before it is sent again. */
function WaitNote() {
  const [until, setUntil] = useState(0);
  useEffect(() => onWait((ms) => setUntil(Date.now() + ms)), []);
  const seconds = useSecondsLeft(until);
  return seconds === 0 ? null : (
    <span className="small second" role="timer">
      Millrace is busy: sent again in {seconds} s
    </span>
  );
}

function ZonePick() {
  const { zone } = useSettings();
  return (
    <label className="zone small">
      <Icon name="globe" label="Time zone" />
      <select value={zone} onChange={({ target }) => changeSettings({ zone: target.value })}>
        {zones().map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

function PersonMenu(): ReactNode {
  const { session, logOut } = useSession();
  const end = useMutation<void, Refusal>({ mutationFn: logOut });
  return (
    <div className="who">
      <button
        type="button"
        className="btn plain"
        popoverTarget="person-menu"
        aria-label={session.user.full_name || session.user.email}
      >
        <Icon name="person" />
      </button>
      <div id="person-menu" popover="auto" className="popover">
        <p className="second small">{session.user.email}</p>
        <Link to="/me">Password, theme, keys</Link>
        <button type="button" className="btn" disabled={end.isPending} onClick={() => end.mutate()}>
          Log out
        </button>
        {end.error && <Refused refusal={end.error} />}
      </div>
    </div>
  );
}
