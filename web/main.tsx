import './main.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { hasExactNumbers, OldBrowser } from './frame/old-browser.tsx';
import { router } from './router.tsx';
import { queries, SessionGate } from './session/session.tsx';
import { applyTheme } from './session/settings.ts';

/** A piece that is missing so soon after the start is missing in this build, too: another load would not bring it. */
const JUST_LOADED_MS = 10_000;
const loadedAt = performance.now();

// A page of an older build may ask for a piece that is gone: the shell of the new build knows its own.
window.addEventListener('vite:preloadError', () => {
  if (performance.now() - loadedAt > JUST_LOADED_MS) location.reload();
});

applyTheme();
// The page's code comes while the session is read.
void router.load();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {hasExactNumbers() ? (
      <QueryClientProvider client={queries}>
        <SessionGate>
          <RouterProvider router={router} />
        </SessionGate>
      </QueryClientProvider>
    ) : (
      <OldBrowser />
    )}
  </StrictMode>,
);
