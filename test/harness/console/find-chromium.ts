import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Returns the first Chromium on PATH; null if there is none. */
export function findChromium(): string | null {
  return (
    (process.env['PATH'] ?? '')
      .split(delimiter)
      .flatMap((folder) => CHROMIUM_NAMES.map((name) => join(folder, name)))
      .find(isProgram) ?? null
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
