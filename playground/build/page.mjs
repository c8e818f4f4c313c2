// Builds the page into one file, compressed, with the policy that allows what is in it and nothing else.
// With --check it builds without writing, and fails if what is kept differs.

import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const folder = new URL('../', import.meta.url);
const built = new URL('../crates/playground/built/', folder);
const LIMIT = 200_000;

const bundle = await build({
  absWorkingDir: folder.pathname,
  entryPoints: ['src/main.tsx', 'src/style.css'],
  bundle: true,
  minify: true,
  write: false,
  outdir: 'out',
  format: 'esm',
  target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
});
const text = (ending) => bundle.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
// Only these two could end the elements they stand in.
const script = text('.js').replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const style = text('.css').replaceAll('</style', '<\\/style');

const notice = await copyrights(Object.keys(bundle.metafile.inputs));
const template = await readFile(new URL('src/page.html', folder), 'utf8');
const html = template
  .replace('<!--notice-->', () => `<!--\n${notice}\n-->`)
  .replace('/*style*/', () => style)
  .replace('/*script*/', () => script);
const hash = (content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
const policy =
  [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    'connect-src http: https: ws: wss:',
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ') + '\n';
const page = gzipSync(html, { level: 9 });
if (page.length >= LIMIT) fail(`the page has ${page.length} bytes compressed; the limit is ${LIMIT}`);

const files = { page: new URL('playground.html.gz', built), policy: new URL('content-security-policy.txt', built) };
if (process.argv.includes('--check')) {
  const kept = [gunzipSync(await readFile(files.page)).toString(), await readFile(files.policy, 'utf8')];
  // Not the compressed bytes: they are another matter with another version of zlib.
  if (kept[0] !== html || kept[1] !== policy)
    fail('crates/playground/built differs from what the source builds: run `npm run build` in playground/');
  console.log(`crates/playground/built is up to date: ${page.length} bytes compressed`);
} else {
  await mkdir(built, { recursive: true });
  await writeFile(files.page, page);
  await writeFile(files.policy, policy);
  console.log(`${page.length} bytes compressed, ${html.length} in all`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Whose code is in the page, and under which licence: all of it must be MIT. */
async function copyrights(inputs) {
  const names = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  const holders = [];
  let terms = '';
  for (const name of [...names].sort()) {
    const licence = await readFile(new URL(`node_modules/${name}/LICENSE`, folder), 'utf8');
    const found = /(Copyright [^\n]+)\s+(Permission is hereby granted[^]+)$/.exec(licence.replaceAll('\r', ''));
    const { license } = JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, folder), 'utf8'));
    if (!found || license !== 'MIT') fail(`${name} is not under the MIT licence, which everything in the page must be`);
    holders.push(`${name}: ${found[1].trim()}`);
    terms = found[2].trim();
  }
  return `This page contains these works under the MIT licence:\n${holders.join('\n')}\n\n${terms}`;
}
