/** Replacement for a text about an erased person. Filters that earlier versions erased have it as a value. */
export const ERASED = 'erased';
