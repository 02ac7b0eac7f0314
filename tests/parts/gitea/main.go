// gitea is the whole Gitea server and its command line, as the forge of the tests. Pages are unstyled (the module carries no
// built assets); the API, git, webhooks and commit statuses are complete.
package main

import (
	"os"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	_ "code.gitea.io/gitea/modules/markup/markdown"
	"code.gitea.io/gitea/modules/setting"
	"github.com/urfave/cli/v3"
)

const version = "1.26.0"

func main() {
	setting.AppVer = version
	setting.AppStartTime = time.Now().UTC()
	// A failed command leaves through here, a finished one returns. The logger writes in the background: without the flush
	// its last lines are lost.
	cli.OsExiter = func(code int) {
		log.GetManager().Close()
		os.Exit(code)
	}
	_ = cmd.RunMainApp(cmd.NewMainApp(cmd.AppVersion{Version: version}), os.Args...)
	log.GetManager().Close()
}
