export type ApiVersion = 2 | 3;
