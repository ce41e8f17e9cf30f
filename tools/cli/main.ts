#!/usr/bin/env node
import { PACKAGE_VERSION } from '../../src/errors/base.js'
import { redactTyped } from '../../src/errors/redact.js'
import { pairs, wrapped } from './shared/output.js'
import { EXIT, endWith, write } from './shared/program.js'

type Run = (argv: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>

/** Commands are loaded on demand, so that the help does not wait for the modules of a chain. */
const COMMANDS: Readonly<Record<string, { readonly about: string; readonly load: () => Promise<Run> }>> = {
  send: {
    about: 'pay a file of transfers or calls, each line once',
    load: async () => (await import('./send/command.js')).send,
  },
  inspect: {
    about: "show an account's nonces as a node reports them",
    load: async () => (await import('./inspect/command.js')).inspect,
  },
  fill: {
    about: 'fill the nonce gaps of an account',
    load: async () => (await import('./fill/command.js')).fill,
  },
  cancel: {
    about: 'replace a pending transaction with a no-op',
    load: async () => (await import('./change/command.js')).cancel,
  },
  'speed-up': {
    about: 'resend a pending transaction with higher fees',
    load: async () => (await import('./change/command.js')).speedUp,
  },
  devnet: {
    about: 'a local chain with pre-confirmations and faults',
    load: async () => (await import('./devnet/command.js')).devnet,
  },
  report: {
    about: 'make an HTML page of a payout or of a recording',
    load: async () => (await import('./report/command.js')).report,
  },
}

const COMMAND_LIST = pairs(Object.entries(COMMANDS).map(([name, { about }]) => [`  ${name}`, about]))

const USAGE = `Usage: txlane <command> [options]

${COMMAND_LIST}
${wrapped(`txlane <command> --help shows the options of a command, txlane --version the version.

Exit codes: 0 success, 1 failure, 2 bad options, 3 refused before anything was sent, 130 interrupted.
NO_COLOR and FORCE_COLOR control the colours.`)}
`

async function main([name, ...argv]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    await write(USAGE)
    return EXIT.held
  }
  if (name === '--version' || name === '-V') {
    await write(`${PACKAGE_VERSION}\n`)
    return EXIT.held
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    process.stderr.write(`There is no command ${redactTyped(JSON.stringify(name))}.\n\n${USAGE}`)
    return EXIT.badOptions
  }
  const run = await command.load()
  return run(argv, process.env)
}

const argv = process.argv.slice(2)
endWith(main(argv), argv[0] ?? 'txlane', 'message')
