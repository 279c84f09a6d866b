import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rememberedPort } from '../runtime/embedded/ports.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { type RunningService, startService } from './service.ts';
import { prepareTap } from './tap.ts';

export type OpenContext = BenchContext & { close(): Promise<void> };

/** Opens the context of these lines; the service starts once, with the environment that any of them needs. */
export function openContext(lines: readonly Line[], size: Size, folder: string): OpenContext {
  const dataDir = join(folder, 'data');
  let running: Promise<RunningService> | undefined;

  const start = async () => {
    const environment: Record<string, string> = {};
    for (const line of lines) Object.assign(environment, await line.environment?.(context));
    const port = await rememberedPort(folder, 'service', () => undefined);
    return startService(dataDir, port, environment);
  };
  const close = async () => {
    // A failed start was reported already.
    const service = await running?.catch(() => undefined);
    await service?.stop();
  };
  const context: OpenContext = {
    size,
    rounds: size === 'quick' ? 1 : 3,
    folder,
    service: () => (running ??= start()),
    async restartService() {
      await close();
      running = start();
      return running;
    },
    databaseUrl: async () => {
      await context.service();
      return embeddedUrl(dataDir);
    },
    tap: once(() => prepareTap(folder)),
    close,
  };
  return context;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function embeddedUrl(dataDir: string): Promise<string> {
  const { postgres } = JSON.parse(await readFile(join(dataDir, 'ports.json'), 'utf8')) as { postgres: number };
  const password = await readFile(join(dataDir, 'postgres.password'), 'utf8');
  return `postgres://millrace:${password}@127.0.0.1:${postgres}/postgres`;
}
