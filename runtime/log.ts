import { type DestinationStream, type Logger, pino } from 'pino';

/** One JSON object a line. Fields that could hold a secret are struck out, wherever they come from. */
export function createLog({ level, destination }: { level: string; destination?: DestinationStream }): Logger {
  return pino({
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['authorization', 'api_key', 'apiKey', 'password', 'token', 'headers', '*.authorization', '*.api_key', '*.password', '*.token'],
      censor: '(struck out)',
    },
  }, destination ?? pino.destination({ sync: true }));
}
