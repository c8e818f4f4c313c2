// Builds each page into one file, compressed, with the policy that allows what is in it and nothing else.
// With --check it builds without writing, and fails if what is kept differs.

import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const folder = new URL('../', import.meta.url);
const built = new URL('../crates/playground/built/', folder);

/** Where each page begins, where it may send requests, what it may play, and how many bytes it may have. */
const PAGES = [
  {
    name: 'playground',
    source: 'src',
    title: 'Switchboard playground',
    noscript: 'The playground needs JavaScript. Without it, send calls to this address with POST.',
    connect: 'http: https: ws: wss:',
    limit: 200_000,
  },
  {
    name: 'live',
    source: 'src/live',
    title: 'Switchboard live',
    noscript: 'This page needs JavaScript. Without it, call the admin methods at this address, or read /metrics.',
    connect: "'self'",
    limit: 60_000,
  },
  {
    name: 'inspector',
    source: 'src/inspector',
    title: 'Switchboard inspector',
    noscript: 'The inspector needs JavaScript. Without it, use `switchboard tools`, `resources` and `prompts`.',
    connect: "'self'",
    media: 'data:',
    limit: 120_000,
  },
];

for (const page of PAGES) await make(page);

async function make({ name, source, title, noscript, connect, media, limit }) {
  const bundle = await build({
    absWorkingDir: folder.pathname,
    entryPoints: [`${source}/main.tsx`, `${source}/style.css`],
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
    .replace('<!--title-->', title)
    .replace('<!--noscript-->', noscript)
    .replace('/*style*/', () => style)
    .replace('/*script*/', () => script);
  const compressed = gzipSync(html, { level: 9 });
  if (compressed.length >= limit) fail(`${name}.html has ${compressed.length} bytes compressed; the limit is ${limit}`);
  await keep(name, html, compressed, policyOf(script, style, connect, media));
}

/** What a page may do: run its script, use its style sheet, and send requests. */
function policyOf(script, style, connect, media) {
  const hash = (content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
  const rules = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    ...(media ? [`media-src ${media}`] : []),
    `connect-src ${connect}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return rules.join('; ') + '\n';
}

/** Writes a page and its policy, or compares them with what is kept. */
async function keep(name, html, compressed, policy) {
  const files = { page: new URL(`${name}.html.gz`, built), policy: new URL(`${name}.policy.txt`, built) };
  if (process.argv.includes('--check')) {
    const kept = [gunzipSync(await readFile(files.page)).toString(), await readFile(files.policy, 'utf8')];
    // Not the compressed bytes: they are another matter with another version of zlib.
    if (kept[0] !== html || kept[1] !== policy)
      fail(`${name} in crates/playground/built differs from what the source builds: run \`npm run build\` in playground/`);
    console.log(`${name} is up to date: ${compressed.length} bytes compressed`);
  } else {
    await mkdir(built, { recursive: true });
    await writeFile(files.page, compressed);
    await writeFile(files.policy, policy);
    console.log(`${name}: ${compressed.length} bytes compressed, ${html.length} in all`);
  }
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
