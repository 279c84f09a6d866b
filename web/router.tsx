/** The addresses of the pages below `/console`. */
import { Link, createRootRoute, createRoute, createRouter, useRouterState } from '@tanstack/react-router';
import { Frame } from './frame/frame.tsx';
import { PAGES } from './pages/index.ts';
import type { Page } from './pages/page.ts';
import { NoRight } from './parts/no-right.tsx';
import { useSession } from './session/session.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: UnknownPage });

const routes = PAGES.map((shown) => {
  const route = createRoute({
    getParentRoute: () => root,
    path: shown.path,
    // The page before it stays until its code is there: React would hold the reveal of a lazy one back for 300 ms.
    loader: () => shown.load(),
    staleTime: Infinity,
    component: () => <Allowed shown={shown} Loaded={route.useLoaderData()} />,
    // Filters stand in the address as texts.
    validateSearch: (search: Record<string, unknown>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(search)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => [name, String(value)]),
      ),
  });
  return route;
});

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/console',
  scrollRestoration: true,
  // A look that is audited begins with a press, never with a pointer above a link.
  defaultPreload: false,
  defaultErrorComponent: BrokenPage,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs as [string, string][]).toString()}`;
  },
});

/** Returns the page of the address. */
export function usePage(): Page | null {
  const path: string | undefined = useRouterState().matches.at(-1)?.fullPath;
  return PAGES.find((each) => each.path === path || each.path === `${path}/`) ?? null;
}

function Allowed({ shown, Loaded }: { shown: Page; Loaded: React.ComponentType }) {
  const { missingForPage } = useSession();
  const path: string | undefined = useRouterState().matches.at(-1)?.pathname;
  const missing = missingForPage(shown);
  return missing.length > 0 ? <NoRight title={shown.title} missing={missing} /> : <Loaded key={path} />;
}

/** Stands for a page whose code did not come, or that broke off. */
function BrokenPage() {
  return (
    <>
      <h1>The page cannot be shown</h1>
      <p className="second">A part of it did not come, or is wrong. What was sent before stays sent.</p>
      <p>
        <button type="button" className="btn main" onClick={() => location.reload()}>
          Load it again
        </button>
      </p>
    </>
  );
}

function UnknownPage() {
  return (
    <>
      <h1>There is no such page</h1>
      <p className="second">
        The address may be of an older version, or cut. The menu lists all pages; Ctrl K finds a page or an id.
      </p>
      <p>
        <Link className="btn" to="/">
          To Home
        </Link>
      </p>
    </>
  );
}
