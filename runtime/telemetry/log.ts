import { type DestinationStream, type Logger, pino } from 'pino';
import { internalErrorOf } from '../../domain/core/internal-error.ts';

const SECRETS = ['authorization', 'cookie', 'headers', 'api_key', 'apiKey', 'password', 'secret', 'token', 'userToken'];

/**
 * One JSON object a line. Fields that could hold a secret are struck out, and of an error there is left
 * what may be told: its class, code and frames.
 */
export function createLog({ level, destination }: { level: string; destination?: DestinationStream }): Logger {
  return pino({
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: internalErrorOf },
    hooks: {
      // Without a message pino takes the error's, and that may quote values.
      logMethod(args, method) {
        const [fields, message, ...rest] = args as [object | string, string?, ...unknown[]];
        if (typeof fields === 'object' && message === undefined) method.call(this, fields, '');
        else method.call(this, fields as object, message, ...rest);
      },
    },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '(struck out)' },
  }, destination ?? pino.destination({ sync: true }));
}
