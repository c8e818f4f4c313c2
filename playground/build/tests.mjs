// Builds and runs the tests of a folder: `unit` needs nothing, `browser` needs Chromium and a server (see tests/browser/serving.ts).

import { readdir, rm } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';

const folder = new URL('../', import.meta.url).pathname;
const [kind = 'unit', ...rest] = process.argv.slice(2);
const wanted = (await readdir(`${folder}tests/${kind}`)).filter((name) => name.endsWith('.test.ts'));
const outdir = `${folder}node_modules/.tests/${kind}`;
await rm(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: folder,
  entryPoints: wanted.map((name) => `tests/${kind}/${name}`),
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  outExtension: { '.js': '.mjs' },
  outdir,
});
const files = wanted.map((name) => `${outdir}/${name.replace(/\.ts$/, '.mjs')}`);
const options = ['--enable-source-maps', '--test', `--test-concurrency=${kind === 'unit' ? 2 : 1}`, ...rest];
const { status } = spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit', cwd: folder });
process.exit(status ?? 1);
