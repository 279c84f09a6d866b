export { feedAttributes } from './feed-attributes.ts';
export { importAttributes } from './import-attributes.ts';
export { sweep } from './sweep.ts';
