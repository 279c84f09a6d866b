export const FILE_FORMATS = ['csv', 'xls', 'xlsx'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export const FILE_TYPES: Record<FileFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export const FILE_DAYS = 7;
