import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openScratch } from '../../../store/core/scratch.ts';

let area: string;
const onError = vi.fn<(error: unknown) => void>();

beforeEach(async () => {
  area = await mkdtemp(join(tmpdir(), 'millrace-scratch-'));
  onError.mockClear();
  areas.push(area);
});
const areas: string[] = [];
afterAll(() => Promise.all(areas.map((folder) => rm(folder, { recursive: true }))));

const open = (process: string) => openScratch(area, { process, onError });

/** Another process that opens the area, begins a step in it, and is killed. */
async function killedProcess(name: string): Promise<void> {
  const script = `
    const { openScratch } = await import(${JSON.stringify(new URL('../../../store/core/scratch.ts', import.meta.url).href)});
    const scratch = await openScratch(${JSON.stringify(area)}, { process: ${JSON.stringify(name)}, onError() {} });
    await scratch.withFolder(7, 'archive', async () => { process.kill(process.pid, 'SIGKILL'); });`;
  await once(spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }), 'exit');
}

describe('the scratch area', () => {
  it("removes a step's folder in all cases, and no error of that hides the step's own", async () => {
    const scratch = await open('one');
    expect(
      await scratch.withFolder(1, 'archive', async (folder) => {
        await writeFile(join(folder, 'events.csv'), 'x');
        return 'done';
      }),
    ).toBe('done');
    expect(await readdir(scratch.folderOf(1))).toEqual([]);
    // A writer that goes on: the folder is never empty when it is to be removed.
    let isOver = false;
    let writing = Promise.resolve();
    const writeOn = async (folder: string) => {
      while (!isOver) await writeFile(join(folder, `${performance.now()}`), 'x').catch(() => {});
    };
    await expect(
      scratch.withFolder(1, 'archive', async (folder) => {
        writing = writeOn(folder);
        throw new Error('the job is gone');
      }),
    ).rejects.toThrow('the job is gone');
    isOver = true;
    await writing;
    await scratch.close();
    expect(await readdir(area)).toEqual([]);
  });

  it('keeps what processes that live hold, and loses what one that was killed has left, at a start and on request', async () => {
    const one = await open('one');
    await one.withFolder(7, 'archive', async (folder) => {
      await killedProcess('killed');
      const steps = async () =>
        (await Array.fromAsync(one.list(7))).map(({ path, step, isOfLivingProcess }) => [
          path === folder ? 'one' : 'another',
          step,
          isOfLivingProcess,
        ]);
      expect(new Set(await steps())).toEqual(
        new Set([
          ['another', 'archive', false],
          ['one', 'archive', true],
        ]),
      );
      const two = await open('two');
      expect(new Set(await readdir(area))).toEqual(new Set(['one', 'two']));
      await killedProcess('killed');
      await Promise.all([one.removeGone(), two.removeGone()]);
      expect(await steps()).toEqual([['one', 'archive', true]]);
      expect(await Array.fromAsync(two.list(8))).toEqual([]);
      await two.close();
    });
    await one.close();
    expect(onError).not.toHaveBeenCalled();
  });

  it('loses what an earlier version has left, and what was being removed', async () => {
    for (const folder of ['archive-abc', '.removed-killed']) {
      await mkdir(join(area, folder));
      await writeFile(join(area, folder, 'events.csv'), 'x');
    }
    await writeFile(join(area, 'a-file'), 'x');
    const one = await open('one');
    expect(await readdir(area)).toEqual(['one']);
    await one.close();
  });

  it('is opened by processes that start at once', async () => {
    const opened = await Promise.all(Array.from({ length: 12 }, (_, nth) => open(`process-${nth}`)));
    expect(await readdir(area)).toHaveLength(12);
    for (const scratch of opened) await scratch.close();
  });
});
