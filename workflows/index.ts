export { exportDaily } from './export-daily.ts';
export { exportTick } from './export-tick.ts';
export { feedAttributes } from './feed-attributes.ts';
export { importAttributes } from './import-attributes.ts';
export { runSync } from './run-sync.ts';
export { sweep } from './sweep.ts';
export { syncTick } from './sync-tick.ts';
