import { page } from '../page.ts';

export const importPages = [
  page({
    path: '/imports',
    title: 'Imports',
    question: 'What came in?',
    needs: ['listImportSummaries'],
    menu: { group: 'Data in', icon: 'import' },
    key: 'i',
    load: () => import('./import-list.tsx').then(({ ImportList }) => ImportList),
  }),
  page({
    path: '/imports/new',
    title: 'New import',
    question: 'What would this file do?',
    needs: ['importWithToken'],
    load: () => import('./new-import.tsx').then(({ NewImport }) => NewImport),
  }),
  page({
    path: '/imports/$id',
    title: 'Import',
    question: 'Did every row arrive?',
    needs: ['viewImport'],
    idPrefix: 'imp_',
    load: () => import('./view-import.tsx').then(({ ViewImport }) => ViewImport),
  }),
];
