/** What is left of a text, or of a filter's value, that told of a person. */
export const ERASED = 'erased';
