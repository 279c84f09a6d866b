import { fstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SharedStrings } from '../../../connectors/files/shared-strings.ts';

const BLOCKS = 200;
const PER_BLOCK = 64;

/** Bytes of the open files of this process whose names, which were taken away, begin with a path. */
function bytesOnDisk(path: string): Record<string, number> {
  const found = readdirSync('/proc/self/fd').flatMap((fd): [string, number][] => {
    try {
      const name = readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, '');
      return name.startsWith(path) ? [[name.slice(path.length), fstatSync(Number(fd)).size]] : [];
    } catch {
      return []; // the folder's own
    }
  });
  return Object.fromEntries(found);
}

it('shared strings and the places of their blocks lie on disk, and each is read back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strings-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'strings');
  const strings = new SharedStrings(path);
  const textOf = (index: number) => 'é'.repeat(index % 5) + index;
  for (let index = 0; index < BLOCKS * PER_BLOCK; index += 1) strings.add(textOf(index));
  strings.flush(true);
  expect(bytesOnDisk(path)).toEqual({ '': expect.any(Number) as number, '.places': BLOCKS * 8 });
  for (let step = 0, index = 0; step < 500; step += 1, index = (index + 7_919) % (BLOCKS * PER_BLOCK)) {
    expect(strings.get(index)).toBe(textOf(index));
  }
  expect(strings.get(BLOCKS * PER_BLOCK)).toBeUndefined();
  strings.close();
  expect(bytesOnDisk(path)).toEqual({});
});
