/** How this browser shows the console: kept in a cookie of its pages, which no call of the API carries. */
import { useSyncExternalStore } from 'react';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export type Settings = { theme: Theme; zone: string; hasSingleKeys: boolean };

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const COOKIE = 'millrace-view';
let settings: Settings = { theme: 'system', zone: browserZone, hasSingleKeys: true, ...stored() };
const listeners = new Set<() => void>();

export function useSettings(): Settings {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => settings,
  );
}

export function changeSettings(changed: Partial<Settings>): void {
  settings = { ...settings, ...changed };
  const kept = encodeURIComponent(JSON.stringify(settings));
  document.cookie = `${COOKIE}=${kept}; Path=/console; Max-Age=31536000; SameSite=Strict`;
  applyTheme();
  listeners.forEach((listener) => listener());
}

export function applyTheme(): void {
  document.documentElement.style.colorScheme = settings.theme === 'system' ? 'light dark' : settings.theme;
}

/** The zones of the top line: the browser's, UTC, and all that it knows. */
export function zones(): string[] {
  return [...new Set([browserZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])];
}

function stored(): Partial<Settings> {
  const [, kept] = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`).exec(document.cookie) ?? [];
  try {
    const { theme, zone, hasSingleKeys } = JSON.parse(decodeURIComponent(kept ?? '{}')) as Partial<Settings>;
    return {
      ...(theme !== undefined && THEMES.includes(theme) ? { theme } : {}),
      ...(zone !== undefined && zones().includes(zone) ? { zone } : {}),
      ...(typeof hasSingleKeys === 'boolean' ? { hasSingleKeys } : {}),
    };
  } catch {
    return {};
  }
}
