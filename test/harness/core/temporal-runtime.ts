import { DefaultLogger, Runtime } from '@temporalio/worker';

// A process has one, whichever of its test files needs it first.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => {}),
  telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  shutdownSignals: [],
});
