// The events of one answer out of a fetch body. A connection that drops is taken up again behind the last event.
const TRIES = 4, PAUSE_MS = 500;

export async function* answerEvents(asking, response, resuming) {
  let last = 0, failures = response ? 0 : -1;
  for (;;) {
    try {
      response ??= await fetch(`/api/v1/messages/${asking.message}/stream?after=${last}`, { signal: asking.connection.signal });
      if (!response.ok || response.redirected) return;
      for await (const event of parsed(response.body)) {
        last = event.id;
        failures = 0;
        yield event;
        if (event.type === 'done' || event.type === 'error') return;
      }
    } catch (error) { if (asking.connection.signal.aborted) return; }
    if (++failures >= TRIES) return;
    response = null;
    resuming();
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS * 2 ** failures));
  }
}

async function* parsed(body) {   // comments keep the connection alive and carry nothing
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const fields = Object.fromEntries(text.slice(0, end).split('\n').map(line => line.split(/: ?(.*)/s, 2)));
      if (fields.data) yield { id: Number(fields.id), type: fields.event, data: JSON.parse(fields.data) };
    }
  }
}
