// Adds to package-lock.json the optional platform packages that npm left out of it.
//
// npm only writes packages that the configured registry serves. If that is a mirror without the binaries of
// other platforms, the lock file lacks their entries, and `npm ci` then refuses it everywhere ("Missing: …
// from lock file"). The parent's optionalDependencies contain exact versions, and the names contain the
// platform. That suffices for an entry that `npm ci` accepts, and skips on other platforms. Run it after each
// `npm install`.
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('../package-lock.json', import.meta.url)
const SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const PROCESSORS = [
  'arm64',
  'arm',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'x64',
  'wasm32',
]
const ALIASES = { amd64: 'x64', linuxmusl: 'linux', windows: 'win32', ppc64le: 'ppc64', eabi: 'arm' }

function platformOf(name) {
  const words = name
    .split(/[^a-z0-9]+/i)
    .flatMap((word) => [word, ALIASES[word]])
    .filter((word) => word !== undefined)
  const os = SYSTEMS.filter((system) => words.includes(system))
  const cpu = PROCESSORS.filter((processor) => words.includes(processor)).slice(0, 1)
  const libc = words.includes('musl') || words.includes('musleabihf') ? ['musl'] : []
  return {
    ...(os.length > 0 ? { os } : {}),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(libc.length > 0 ? { libc } : {}),
  }
}

const lock = JSON.parse(readFileSync(FILE, 'utf8'))
const added = []
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`
    const root = `node_modules/${name}`
    const known = lock.packages[nested] ?? lock.packages[root]
    if (known?.version !== undefined || !/^\d/.test(version)) continue
    // Two parents may need two versions of one binary: the second version is nested below its parent.
    const place = lock.packages[root] === undefined ? root : nested
    lock.packages[place] = {
      version,
      ...platformOf(name),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
    }
    added.push(`${name}@${version}`)
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
lock.packages = Object.fromEntries(sorted)
writeFileSync(FILE, `${JSON.stringify(lock, undefined, 2)}\n`)
console.log(added.length === 0 ? 'nothing was missing' : `added ${added.length} entries`)
