/** Runs a process of Millrace: reads the configuration, opens the log, and reports why it cannot start. */
import type { Logger } from 'pino';
import { Refusal } from '../domain/core/refusal.ts';
import { CannotStart } from './cannot-start.ts';
import { type Config, readConfig } from './config.ts';
import { folderError } from './start-errors.ts';
import { createLog } from './telemetry/log.ts';

export async function enter(run: (config: Config, log: Logger) => Promise<void>): Promise<void> {
  // Ctrl-C ends a pipe's reader (`| tee log`) at once, and must not prevent an orderly end.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreBrokenPipe);
  await saidPlainly(async () => {
    const config = readConfig(process.env);
    const log = createLog(logSettings(config));
    log.info({ config: describeConfig(config) }, 'starting');
    await run(config, log).catch((error: unknown) => {
      throw folderError(config, error);
    });
  });
}

/** Returns the log's settings: at a terminal only text that a person should look at. */
function logSettings({ MILLRACE_LOG_FORMAT, MILLRACE_LOG_LEVEL }: Config): { level: string; format: 'json' | 'text' } {
  const format = MILLRACE_LOG_FORMAT ?? (process.stdout.isTTY ? 'text' : 'json');
  return { format, level: MILLRACE_LOG_LEVEL ?? (format === 'text' ? 'warn' : 'info') };
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

export async function saidPlainly(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const isPlain = error instanceof CannotStart || error instanceof Refusal;
    console.error(isPlain ? error.message : error);
    process.exitCode = 1;
  }
}

const SECRET = /PASSWORD|SECRET|TOKEN$|API_KEY|EXPORT_KEY/;

export function describeConfig(config: Config): string[] {
  return Object.entries(config)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${SECRET.test(name) ? '(set)' : withoutPassword(String(value))}`);
}

function withoutPassword(text: string): string {
  if (!text.includes('://') || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.password) url.password = '***';
  for (const name of new Set(url.searchParams.keys())) {
    if (/password/i.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}
