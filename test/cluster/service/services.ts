import { type ExampleProcess, startProgram } from '../../support/exampleProcess.js'
import { freePort } from '../../support/freePort.js'

/** One process of examples/relayer, over all its lives, at one address. */
export type Service = {
  readonly number: number
  readonly url: string
  readonly isUp: boolean
  readonly lives: number
  /** Begins a life. Resolves once it listens. */
  start(): Promise<void>
  kill(): Promise<void>
  /** Sends SIGTERM. Resolves with its error output if it did not end with code 0. */
  end(): Promise<string | undefined>
  signal(signal: 'SIGHUP' | 'SIGSTOP' | 'SIGCONT'): void
  /** Resolves once its log has a matching line. */
  says(line: RegExp): Promise<void>
}

export async function createService(
  number: number,
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<Service> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  let life: ExampleProcess | undefined
  let lives = 0

  return {
    number,
    url: `http://127.0.0.1:${port}`,
    get isUp() {
      return life !== undefined
    },
    get lives() {
      return lives
    },
    async start() {
      lives++
      life = startProgram(program, { ...environment, PORT: `${port}`, METRICS_PORT: `${metricsPort}` })
      await life.line(/Server listening/)
    },
    async kill() {
      const killed = life
      life = undefined
      killed?.kill('SIGKILL')
      await killed?.ended
    },
    async end() {
      const ending = life
      life = undefined
      ending?.kill('SIGCONT')
      ending?.kill('SIGTERM')
      const ended = await ending?.ended
      return ended === undefined || ended.code === 0 ? undefined : `code ${ended.code}: ${ended.err}`
    },
    signal: (signal) => life?.kill(signal),
    async says(line) {
      await life?.line(line)
    },
  }
}
