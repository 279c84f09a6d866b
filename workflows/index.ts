export { importAttributes } from './import-attributes.ts';
export { sweep } from './sweep.ts';
