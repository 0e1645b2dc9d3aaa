// Watches a job of articles until it is over; in a browser on the same site, or with Node:
//
//   node examples/articles.js ws://localhost:8000 run_…      (Node 22; before: node --experimental-websocket …)
//
// A connection that is cut goes on where it stopped: nothing is told twice, and nothing is missed.

const FINAL = ['COMPLETED', 'FAILED', 'CANCELLED'];

function watch(server, jobId, onUpdate, after = null) {
  const ws = new WebSocket(`${server}/ws/jobs/${jobId}${after === null ? '' : `?after=${after}`}`);
  let over = false;

  ws.onopen = () => {
    console.log('Connected to job updates');
  };

  ws.onmessage = (event) => {
    const update = JSON.parse(event.data);
    after = update.seq;
    onUpdate(update);

    if (FINAL.includes(update.status)) {
      over = true;
      ws.close();
    }
  };

  ws.onclose = (event) => {
    // 1008: the server does not let us in. 4404: there is no such job.
    if (!over && event.code !== 1008 && event.code !== 4404) {
      setTimeout(() => watch(server, jobId, onUpdate, after), 1000);
    }
  };
}

if (typeof process !== 'undefined' && process.argv.length === 4) {
  watch(process.argv[2], process.argv[3], (update) => {
    console.log('Job update:', JSON.stringify(update));
    if (update.status === 'COMPLETED') {
      console.log('Job completed!');
    }
  });
}
