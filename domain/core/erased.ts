/** What is left of a text that told of a person; filters that earlier versions erased have it as a value. */
export const ERASED = 'erased';
