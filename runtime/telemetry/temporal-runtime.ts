import { Runtime } from '@temporalio/worker';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';

/** Expected warning of workers without workflows, all but `flows`. */
const EXPECTED = /^No workflows registered/;

/** Routes the SDK's warnings through our log. Call it once a process, before the first worker. */
export function installTemporalRuntime(log: Log): void {
  const warn = (message: string, meta?: object) => {
    if (!EXPECTED.test(message)) log.warn({ sdk: true, ...withoutErrors(meta) }, message);
  };
  const error = (message: string, meta?: object) => log.error({ sdk: true, ...withoutErrors(meta) }, message);
  Runtime.install({
    logger: {
      log(level, message, meta) {
        if (level === 'WARN') warn(message, meta);
        if (level === 'ERROR') error(message, meta);
      },
      trace() {},
      debug() {},
      info() {},
      warn,
      error,
    },
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
    shutdownSignals: [],
    workerHeartbeatInterval: 0,
  });
}

/** Keeps names and numbers: the SDK logs whole errors, whose texts may quote values. */
function withoutErrors(meta: object = {}): object {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(meta) as [string, unknown][]) {
    if (value instanceof Error) kept[name] = internalErrorOf(value);
    else if (typeof value === 'string' || typeof value === 'number') kept[name] = value;
  }
  return kept;
}
