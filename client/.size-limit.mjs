// A page loads before its first request what an entry imports statically; the rest stands in files of its own.
const later = {
  name: 'later',
  setup: (build) => build.onResolve({ filter: /./ }, ({ kind, path }) =>
    kind === 'dynamic-import' ? { external: true, path } : undefined),
}
// Names by content: several are index.js, and only one of a name would be counted.
const apart = { format: 'esm', splitting: true, entryNames: '[name]-[hash]' }
const outside = ['vue', 'axios', 'vite', '@vue/devtools-api', 'node:*']

export default [
  {
    name: 'glbp-client',
    path: 'dist/index.js',
    limit: '5 kB',
    modifyEsbuildConfig: (config) => ({ ...config, format: 'esm', plugins: [later] }),
  },
  {
    name: 'all four entries',
    path: ['dist/index.js', 'dist/vue/index.js', 'dist/axios/index.js', 'dist/vite/index.js'],
    ignore: outside,
    limit: '11 kB',
    modifyEsbuildConfig: (config) => ({ ...config, ...apart, plugins: [later] }),
  },
  {
    name: 'all that a page in production can load of it',
    path: ['dist/index.js', 'dist/vue/index.js', 'dist/axios/index.js'],
    ignore: outside,
    limit: '15 kB',
    modifyEsbuildConfig: (config) => ({ ...config, ...apart, define: { 'process.env.NODE_ENV': '"production"' } }),
  },
]
