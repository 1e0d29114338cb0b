import { Argument, InvalidArgumentError } from 'commander'
import {
  PaymentRejectedError,
  PaymentUnsettledError,
  type SignedPayment,
  type TopUp,
  type TransferAuthorization,
} from '../../sdk/src/index.ts'
import { creditsFromText } from '../kernel/money.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withProgress } from '../terminal/progress.ts'
import { type Connection, connect, explained } from './client.ts'
import { confirmed } from './confirmation.ts'
import { credits } from './form.ts'
import { walletOf } from './private-key.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox topup`. */
export const topupCommands: AddClientCommands = (program, here) => {
  const topup = program
    .command('topup')
    .description(
      "buy Credits by x402 from a wallet, for the wallet's own account; it needs tokens, and no gas or login",
    )
    .addArgument(new Argument('[amount]', 'how much of the stablecoin, such as 5 or 2.5').argParser(parseAmount))
    .option('--private-key-file <path>', "a file with the wallet's private key")
    .option('--network <id>', 'the chain, such as eip155:8453; else the first that the server takes')
    .option('--resume', 'send a signed payment of before again, instead of paying anew')
    .option('--yes', 'pay without being asked')
  withOutput(topup).action((amount: bigint | undefined, options: TopupOptions) => topUp(here, amount, options))
}

interface TopupOptions extends OutputOptions {
  readonly privateKeyFile?: string
  readonly network?: string
  readonly resume?: boolean
  readonly yes?: boolean
}

function parseAmount(text: string): bigint {
  const micro = creditsFromText(text)
  if (micro === undefined || micro <= 0n)
    throw new InvalidArgumentError(
      'It takes an amount above 0 as a plain decimal with at most six places, such as 2.5.',
    )
  return micro
}

async function topUp(here: ClientSurroundings, amount: bigint | undefined, options: TopupOptions): Promise<void> {
  const payment = connect(here)
  const kept = payment.file.payment(payment.server)
  if (options.resume) {
    if (!kept) throw new ProgramFault(exitCodes.failed, `No payment to ${payment.server} is waiting for its end.`)
    return settled(here, options, payment, () => payment.client.resumeTopUp(kept))
  }
  if (amount === undefined || options.privateKeyFile === undefined)
    throw new ProgramFault(
      exitCodes.usage,
      'Give the amount and the wallet: farebox topup 5 --private-key-file <path>. It pays by x402; to pay from a browser wallet, open /topup of the server.',
    )
  if (kept)
    throw new ProgramFault(
      exitCodes.conflict,
      'A payment of before has no known end yet. Run `farebox topup --resume` first: it costs nothing more.',
    )
  const account = walletOf(here, options.privateKeyFile)
  const wallet = {
    address: account.address,
    signMessage: (text: { message: string }) => account.signMessage(text),
    // what is shown is what is signed, not what was asked for
    async signTypedData(data: TransferAuthorization) {
      here.writeError(`${termsOf(data)}\n`)
      await confirmed(here, options, 'Sign and pay?')
      return account.signTypedData(data)
    },
  }
  const paying = connect(here, { wallet })
  const onSigned = async (signed: SignedPayment): Promise<void> => {
    await paying.file.keepPayment(paying.server, signed)
    here.writeError('Signed and kept. Sent; waiting for the chain…\n')
  }
  const { network } = options
  await settled(here, options, paying, () =>
    paying.client.topUp({ amountMicro: amount, onSigned, ...(network === undefined ? {} : { network }) }),
  )
}

const termsOf = ({ domain, message }: TransferAuthorization): string =>
  `Pays ${credits(message.value)} ${domain.name || 'tokens'} (contract ${domain.verifyingContract})
on chain ${domain.chainId} from ${message.from}
to ${message.to}, valid until ${new Date(Number(message.validBefore) * 1000).toISOString()}`

/** Waits for the end of a payment. It is forgotten only once it is certain that it arrived, or never will. */
async function settled(
  here: ClientSurroundings,
  options: TopupOptions,
  { file, server }: Connection,
  work: () => Promise<TopUp>,
): Promise<void> {
  const pay = () =>
    explained({ server }, async () => {
      try {
        return await work()
      } catch (error) {
        if (error instanceof PaymentRejectedError) await file.keepPayment(server, undefined)
        throw readable(error)
      }
    })
  // signs of life would be written into the question
  const mayAsk = here.stdinIsTerminal && !options.yes && !options.resume
  const paid = await (mayAsk ? pay() : withProgress(here, 'paying', pay))
  await file.keepPayment(server, undefined)
  show(here, options, {
    data: paid,
    text: `Credited ${credits(paid.amount_added)} Credits to account #${paid.account_id}.\ntransaction ${paid.transaction_hash || 'not named yet'}`,
  })
}

/** The SDK speaks of its own arguments in a TypeError: nothing was signed then. */
function readable(error: unknown): unknown {
  if (error instanceof PaymentUnsettledError || !(error instanceof TypeError)) return error
  return new ProgramFault(exitCodes.failed, `${error.message} Nothing was paid.`, { cause: error })
}
