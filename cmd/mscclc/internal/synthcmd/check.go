package synthcmd

import (
	"encoding/json"
	"fmt"
	"io"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/synthesis/certificate"

	"github.com/spf13/cobra"
)

// mostCertificate is how many bytes of a certificate are read.
const mostCertificate = 256 << 20

// A Checked is what check prints with --json.
type Checked struct {
	Schema      int     `json:"schema"`
	Certificate string  `json:"certificate"`
	Program     string  `json:"program,omitempty" doc:"whose copies are the certificate's trees"`
	Collective  string  `json:"collective"`
	Reached     float64 `json:"reached_gbs" doc:"of a call's bytes, as nccl-tests counts them"`
	Bound       float64 `json:"bound_gbs"`
	cli.Noted

	shape   string // what the trees are called
	lengths bool   // prove the bound
}

// Check returns mscclc check.
func Check(a *cli.App) *cobra.Command {
	var spec string
	var part choosing.Part
	cmd := &cobra.Command{
		Use:   "check CERTIFICATE [FILE.mscl]",
		Short: "Verify the certificate of a synthesized program",
		Long: `Verify the certificate that synthesize wrote, from the topology alone: each tree spans all ranks, no link
carries more than it can, and the cuts prove the bound. Of alltoall, routes lead from each rank to each other, and
lengths of links prove the bound. If synthesize had --without, --ranks or --no-relay, check needs
them too: the certificate does not say what is down. With FILE.mscl, the program's copies and additions must be the
certificate's trees, counted by chunk and by ranks. The checker shares no code with what made the certificate.`,
		Example: `  mscclc synthesize allgather -t dgx1v --chunks 1 -o gather.mscl --certificate gather.json
  mscclc check gather.json gather.mscl -t dgx1v`,
		Args: cli.Between(1, 2, "a certificate and a program"),
		RunE: func(_ *cobra.Command, args []string) error {
			if spec == "" {
				return cli.Usagef("check needs --topology: that of synthesize")
			}
			return check(a, spec, &part, args)
		},
	}
	cmd.Flags().StringVarP(&spec, "topology", "t", "", "the topology `T`: a machine, or a file, as mscclc topo takes it")
	part.Add(cmd.Flags(), "")
	return cmd
}

func check(a *cli.App, spec string, part *choosing.Part, args []string) error {
	t, err := a.TopologyOf(spec, "")
	if err != nil {
		return err
	}
	t, gpus, err := part.Of(t)
	if err != nil {
		return err
	}
	c, err := readCertificate(args[0])
	if err != nil {
		return err
	}
	v, err := certificate.Check(c, t, certificate.Part{GPUs: gpus, NoRelay: part.NoRelay})
	if err != nil {
		return rejected(args[0], "it proves nothing", err)
	}
	doc := &Checked{Schema: cli.Schema, Certificate: args[0], Collective: v.Kind.String(),
		shape: certificate.Trees(v.Kind), lengths: len(c.Lengths) > 0}
	reached, _ := v.Reached.Float64()
	most, _ := v.Bound.Float64()
	doc.Reached, doc.Bound = reached/1e3, most/1e3
	if len(args) == 2 {
		if err := checkProgram(a, c, args[1]); err != nil {
			return err
		}
		doc.Program = args[1]
	}
	doc.Noted = a.Notes.List()
	if a.JSON {
		return a.WriteJSON(doc)
	}
	return a.WriteTo("", func(w io.Writer) error { return doc.print(w) })
}

func (d *Checked) print(w io.Writer) error {
	of, proof := "the "+d.shape, "cuts"
	if d.Program != "" {
		of = "the program's " + d.shape
	}
	if d.lengths {
		proof = "lengths of links"
	}
	_, err := fmt.Fprintf(w, "right: %s: %s reach %.4g GB/s, %.1f %% of the bound of %.4g GB/s, which its %s prove\n",
		d.Collective, of, d.Reached, 100*d.Reached/d.Bound, d.Bound, proof)
	return err
}

// readCertificate reads a certificate, whose unknown keys are errors.
func readCertificate(name string) (*certificate.Certificate, error) {
	file, err := cli.OpenOf("check", name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var c certificate.Certificate
	d := json.NewDecoder(io.LimitReader(file, mostCertificate))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, rejected(name, "it is no certificate", err)
	}
	return &c, nil
}

func rejected(name, what string, why error) error {
	return diag.List{diag.New(diag.Malformed, cli.FileSpan(name), "%s: %v", what, why)}
}

// checkProgram compares a program with a certificate.
func checkProgram(a *cli.App, c *certificate.Certificate, name string) error {
	other, err := compiled(name, a.Text(name), c)
	if other != nil {
		return rejected(name, "it is not the certificate's program", other)
	}
	return err
}
