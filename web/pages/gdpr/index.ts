import { page } from '../page.ts';

export const privacyPages = [
  page({
    path: '/privacy',
    title: 'Requests',
    question: 'What waits for me?',
    needs: ['listGdprRequests'],
    menu: { group: 'Privacy', icon: 'lock' },
    key: 'd',
    load: () => import('./requests.tsx').then(({ Requests }) => Requests),
  }),
  page({
    path: '/privacy/$id',
    title: 'Request',
    question: 'Is it done, and what proves it?',
    needs: ['listGdprRequests'],
    idPrefix: 'gdp_',
    load: () => import('./request.tsx').then(({ Request }) => Request),
  }),
  page({
    path: '/privacy/holds',
    title: 'Holds',
    question: 'Who is held?',
    needs: ['listGdprHolds'],
    menu: { group: 'Privacy', icon: 'clock' },
    load: () => import('./holds.tsx').then(({ Holds }) => Holds),
  }),
  page({
    path: '/privacy/receipts',
    title: 'Receipts',
    question: 'Whose receipt, and is it sound?',
    needs: ['listReceiptsOfPerson'],
    menu: { group: 'Privacy', icon: 'file' },
    load: () => import('./receipts.tsx').then(({ Receipts }) => Receipts),
  }),
  page({
    path: '/privacy/map',
    title: 'Data map',
    question: 'Where does personal data lie?',
    needs: ['listPersonalDataLocations'],
    menu: { group: 'Privacy', icon: 'map' },
    key: 'm',
    load: () => import('./data-map.tsx').then(({ DataMap }) => DataMap),
  }),
];
