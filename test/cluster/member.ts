import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { redactText } from '../../src/errors/redact.js'
import type { Ask, Command, ProcessOrder, Report } from './asks.js'

/** One of the processes, over all its lives. Its asks outlive each life. */
export type Member = {
  readonly number: number
  readonly state: 'running' | 'stopped' | 'gone'
  /** Asks that were not answered in any life. */
  readonly open: ReadonlyMap<string, Ask>
  readonly lives: number
  ask(asks: readonly Ask[]): void
  /** Begins a life, and repeats all open asks. Resolves once its senders are ready. */
  start(): Promise<void>
  kill(): Promise<void>
  stop(): void
  /**
   * The process stops itself in the middle of a request. Resolves with false if it has none to send within
   * the time.
   */
  stopInRequest(withinMs: number): Promise<boolean>
  goOn(): void
  /** Resolves once it has closed everything and ended. */
  close(): Promise<void>
  /** Resolves once no ask is open. */
  answered(): Promise<void>
}

const STDERR_CHARACTERS = 4_000

export function createMember(options: {
  readonly number: number
  readonly path: string
  readonly order: ProcessOrder
  readonly reported: (report: Report, member: Member) => void
  /** Called if the process ended without being ordered to. */
  readonly failed: (why: string) => void
}): Member {
  const { number, path, order, reported } = options
  const open = new Map<string, Ask>()
  let life: Life | undefined
  let state: Member['state'] = 'gone'
  let lives = 0
  let stopped: ((done: boolean) => void) | undefined
  const emptied: (() => void)[] = []

  function hear(report: Report): void {
    reported(report, member)
    if (report.report === 'stops') {
      state = 'stopped'
      stopped?.(true)
    }
    if (report.report === 'has nothing to send') stopped?.(false)
    if (report.report !== 'answered') return
    open.delete(report.id)
    if (open.size === 0) for (const done of emptied.splice(0)) done()
  }

  const member: Member = {
    number,
    open,
    get state() {
      return state
    },
    get lives() {
      return lives
    },
    ask(asks) {
      for (const one of asks) open.set(one.id, one)
      if (state !== 'gone') life?.command({ do: 'ask', asks })
    },
    async start() {
      lives++
      state = 'running'
      const asked = [...open.values()]
      const begun = beginLife(path, order, hear)
      life = begun
      void begun.ended.then(({ wanted, why }) => {
        if (life === begun) state = 'gone'
        if (!wanted) options.failed(`process ${number} ended by itself: ${why}`)
      })
      begun.command({ do: 'ask', asks: asked })
      await Promise.race([begun.opened, begun.ended])
    },
    async kill() {
      state = 'gone'
      await life?.kill()
    },
    stop() {
      state = 'stopped'
      life?.signal('SIGSTOP')
    },
    stopInRequest(withinMs) {
      return new Promise((resolve) => {
        stopped = resolve
        void life?.ended.then(() => resolve(false))
        life?.command({ do: 'stop in a request', withinMs })
      })
    },
    goOn() {
      if (state !== 'stopped') return
      state = 'running'
      life?.signal('SIGCONT')
    },
    async close() {
      member.goOn()
      await life?.close()
      state = 'gone'
    },
    async answered() {
      if (open.size > 0) await new Promise<void>((resolve) => emptied.push(resolve))
    },
  }
  return member
}

type Life = {
  readonly opened: Promise<void>
  readonly ended: Promise<{ readonly wanted: boolean; readonly why: string }>
  command(command: Command): void
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  kill(): Promise<void>
  close(): Promise<void>
}

function beginLife(path: string, order: ProcessOrder, reported: (report: Report) => void): Life {
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'pipe'] })
  const write = (line: unknown) => child.stdin.write(`${JSON.stringify(line)}\n`)
  let killed = false
  let done = false
  let stderr = ''
  let opened = () => {}
  // The process may be killed while it reads.
  child.stdin.on('error', () => {})
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString()}`.slice(-STDERR_CHARACTERS)
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const report = reportIn(line)
    if (report === undefined) return
    if (report.report === 'open') opened()
    if (report.report === 'done') done = true
    reported(report)
  })
  const ended = endOf(child).then((code) => ({
    wanted: killed || (done && code === 0),
    why: `${code} ${redactText(stderr)}`,
  }))
  write(order)
  return {
    opened: new Promise((resolve) => {
      opened = resolve
    }),
    ended,
    command: write,
    signal: (signal) => void child.kill(signal),
    async kill() {
      killed = true
      child.kill('SIGKILL')
      await ended
    },
    async close() {
      write({ do: 'close' } satisfies Command)
      await ended
    },
  }
}

/** The last line of a killed process may be incomplete. */
function reportIn(line: string): Report | undefined {
  try {
    return JSON.parse(line) as Report
  } catch {
    return undefined
  }
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code))
  })
}
