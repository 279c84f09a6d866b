export const FILE_FORMATS = ['csv', 'xls', 'xlsx'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Media type of each format. */
export const FILE_TYPES: Record<FileFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Days for which a finished file can be fetched. */
export const FILE_DAYS = 7;
