import { page } from '../page.ts';

export const attributePages = [
  page({
    path: '/sors',
    title: 'Systems of Records',
    question: 'Which attributes?',
    needs: ['listSystemsOfRecords'],
    menu: { group: 'Data in', icon: 'list' },
    key: 'r',
    load: () => import('./sors.tsx').then(({ Sors }) => Sors),
  }),
  page({
    path: '/sors/$id',
    title: 'System of Records',
    question: 'Which attributes?',
    needs: ['viewSystemOfRecord'],
    idPrefix: 'sor_',
    load: () => import('./sor.tsx').then(({ SorPage }) => SorPage),
  }),
];
