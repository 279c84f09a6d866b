import { page } from '../page.ts';

export const appPages = [
  page({
    path: '/apps',
    title: 'Apps',
    question: 'Does SDK data arrive?',
    needs: ['listApps'],
    menu: { group: 'Apps', icon: 'app' },
    key: 'o',
    load: () => import('./apps.tsx').then(({ Apps }) => Apps),
  }),
  page({
    path: '/apps/new',
    title: 'New app',
    question: 'What does its SDK need?',
    needs: ['createApp'],
    load: () => import('./new-app.tsx').then(({ NewApp }) => NewApp),
  }),
  page({
    path: '/apps/$id',
    title: 'App',
    question: 'Does SDK data arrive?',
    needs: ['viewApp'],
    idPrefix: 'app_',
    load: () => import('./app.tsx').then(({ AppPage }) => AppPage),
  }),
  page({
    path: '/apps/$id/edit',
    title: 'Settings of an app',
    question: 'What is it called, and who gets its messages?',
    needs: ['viewApp', 'updateApp'],
    load: () => import('./edit-app.tsx').then(({ EditApp }) => EditApp),
  }),
  page({
    path: '/apps/$id/wallet',
    title: 'Data wallet',
    question: 'What does the app tell its users about their data?',
    needs: ['viewWalletLanguages', 'listLegalTexts', 'listDataCategories', 'listRecipients', 'listPurposes'],
    load: () => import('./wallet.tsx').then(({ Wallet }) => Wallet),
  }),
];
