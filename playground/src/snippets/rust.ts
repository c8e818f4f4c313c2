/** A request with Switchboard's own client, over the transport that the URL names. */

import { type Plan, type PlanCall, type PlanHeader, httpUrl } from './snippet.js';

export function rust(plan: Plan): string {
  if (plan.calls.length === 0) return '// The client sends valid requests only. To send this text as it is, use curl or JavaScript.\n';
  const only = plan.calls.length === 1 ? plan.calls[0] : undefined;
  const pushes = plan.transport === 'ws' && plan.calls.some((call) => call.pushes);
  const isStream = only?.isStream === true && plan.transport !== 'http';
  const isDialled = plan.headers.length > 0 || plan.version === '1.0' || pushes;
  const forPushes = pushes ? ['Reply', 'ReplyFuture', 'service_fn'] : [];
  const uses = ['Json', ...(isDialled ? ['Dial'] : []), ...(plan.version === '1.0' ? ['Version'] : []), ...forPushes].sort();
  const needsJson = isStream || plan.calls.some((call) => !call.isNotification || call.params !== '');
  const lines = [
    ...(isStream ? ['use futures_util::StreamExt;'] : []),
    ...(plan.headers.length > 0 ? ['use http::{HeaderMap, HeaderName, HeaderValue};'] : []),
    ...(needsJson || isDialled ? [`use switchboard::${braced(uses.filter((name) => name !== 'Json' || needsJson))};`] : []),
    '',
    '#[tokio::main]',
    'async fn main() -> Result<(), Box<dyn std::error::Error>> {',
    ...connecting(plan, isDialled, pushes),
    ...(only ? (isStream ? streaming(only) : calling(only)) : batch(plan.calls)),
    ...(pushes ? ['    // What the server pushes is printed until the connection closes.', '    peer.closed().await;'] : []),
    '    Ok(())',
    '}',
  ];
  const features = plan.transport === 'ws' ? 'ws' : 'http';
  const tls = /^(https|wss):/.test(plan.url) ? ', "tls"' : '';
  const others = ['tokio', ...(isStream ? ['futures-util'] : []), ...(plan.headers.length > 0 ? ['http'] : [])];
  return `//! Needs switchboard with the features ["${features}"${tls}], and ${others.join(' and ')}.\n\n${lines.join('\n').trimStart()}\n`;
}

function connecting(plan: Plan, isDialled: boolean, pushes: boolean): string[] {
  const url = literal(plan.transport === 'ws' ? plan.url : httpUrl(plan));
  if (!isDialled) return [`    let peer = switchboard::connect(${url}).await?;`];
  const version = plan.version === '1.0' ? '.with_version(Version::V1)' : '';
  const headers = plan.headers.length > 0 ? '.with_headers(headers)' : '';
  const made = plan.headers.length > 0 ? ['    let mut headers = HeaderMap::new();', ...plan.headers.flatMap(header)] : [];
  const service = pushes ? '.with_service(pushed)' : '';
  return [
    ...made,
    ...(pushes ? PUSHED : []),
    `    let dial = Dial::new(${url})?${version}${headers}${service};`,
    '    let peer = dial.connect().await?;',
  ];
}

/** A service that prints each message of the server. */
const PUSHED: readonly string[] = [
  '    let pushed = service_fn(|call| {',
  '        println!("{} {}", call.method, call.params.as_ref().map_or("", Json::as_str));',
  '        ReplyFuture::ready(Reply::value(Json::NULL))',
  '    });',
];

function header({ name, value, secret }: PlanHeader): string[] {
  const key = `HeaderName::from_static(${literal(name.toLowerCase())})`;
  if (!secret) return [`    headers.insert(${key}, HeaderValue::from_static(${literal(value)}));`];
  const read = `std::env::var(${literal(secret.variable)})?`;
  const variable = secret.variable.toLowerCase();
  return [
    `    let ${variable} = ${secret.prefix ? `format!("${secret.prefix}{}", ${read})` : read};`,
    `    headers.insert(${key}, HeaderValue::try_from(${variable})?);`,
  ];
}

function calling({ method, params, isNotification }: PlanCall): string[] {
  if (isNotification) return [`    peer.notify(${literal(method)}, ${value(params)}).await?;`];
  return [`    let result: Json = peer.call(${literal(method)}, ${value(params)}).await?;`, '    println!("{result}");'];
}

function streaming({ method, params }: PlanCall): string[] {
  return [
    `    let mut items = peer.stream::<Json>(${literal(method)}, ${value(params)}).await?;`,
    '    while let Some(item) = items.next().await {',
    '        println!("{}", item?);',
    '    }',
  ];
}

function batch(calls: readonly PlanCall[]): string[] {
  const lines = calls.map(
    ({ method, params, isNotification }) => `        .${isNotification ? 'notify' : 'call'}(${literal(method)}, ${value(params)})`,
  );
  return [
    '    let results = peer',
    '        .batch()',
    ...lines,
    '        .send()',
    '        .await?;',
    '    for result in results {',
    '        println!("{result:?}");',
    '    }',
  ];
}

function value(params: string): string {
  return params === '' ? '()' : `Json::parse(${raw(params)})?`;
}

/** A raw string, with as many signs around it as the text needs. */
function raw(text: string): string {
  const runs = [...text.matchAll(/"(#*)/g)].map((found) => found[1]!.length + 1);
  const signs = '#'.repeat(Math.max(0, ...runs));
  return `r${signs}"${text}"${signs}`;
}

function literal(text: string): string {
  return /["\\\n]/.test(text) ? raw(text) : `"${text}"`;
}

function braced(names: readonly string[]): string {
  return names.length === 1 ? names[0]! : `{${names.join(', ')}}`;
}
